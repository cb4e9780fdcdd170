// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

/// An ERC-20 token for tests. Anybody can mint, and it can be made to lie in its log.
contract TestToken {
    string public name;
    string public symbol;
    uint8 public immutable decimals;
    uint256 public totalSupply;
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    /// As an issuer can: transfers from and to the address, or all of them, fail.
    mapping(address => bool) public isBlocked;
    bool public isPaused;

    /// EIP-3009: what the token says to sign, and what it checks. Zero: it has no authorizations.
    bytes32 private statedDomain;
    bytes32 private checkedDomain;
    mapping(address => mapping(bytes32 => bool)) private isUsed;
    bytes32 private constant AUTHORIZATION_TYPE = keccak256(
        "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );

    error InsufficientBalance();
    error InsufficientAllowance();
    error Blocked();
    error Paused();
    error AuthorizationRefused();

    constructor(string memory name_, string memory symbol_, uint8 decimals_) {
        name = name_;
        symbol = symbol_;
        decimals = decimals_;
    }

    function mint(address to, uint256 value) external {
        totalSupply += value;
        balanceOf[to] += value;
        emit Transfer(address(0), to, value);
    }

    function setBlocked(address who, bool blocked) external {
        isBlocked[who] = blocked;
    }

    function setPaused(bool paused) external {
        isPaused = paused;
    }

    function transfer(address to, uint256 value) external returns (bool) {
        move(msg.sender, to, value);
        return true;
    }

    function setDomains(bytes32 stated, bytes32 checked_) external {
        statedDomain = stated;
        checkedDomain = checked_;
    }

    function DOMAIN_SEPARATOR() external view returns (bytes32) {
        if (statedDomain == 0) revert AuthorizationRefused();
        return statedDomain;
    }

    function authorizationState(address from, bytes32 nonce) external view returns (bool) {
        if (statedDomain == 0) revert AuthorizationRefused();
        return isUsed[from][nonce];
    }

    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external {
        bytes32 message = keccak256(
            abi.encode(AUTHORIZATION_TYPE, from, to, value, validAfter, validBefore, nonce)
        );
        message = keccak256(abi.encodePacked("\x19\x01", checkedDomain, message));
        bool isValid = block.timestamp > validAfter && block.timestamp < validBefore;
        if (!isValid || isUsed[from][nonce] || ecrecover(message, v, r, s) != from) {
            revert AuthorizationRefused();
        }
        isUsed[from][nonce] = true;
        move(from, to, value);
    }

    function approve(address spender, uint256 value) external returns (bool) {
        allowance[msg.sender][spender] = value;
        emit Approval(msg.sender, spender, value);
        return true;
    }

    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        uint256 allowed = allowance[from][msg.sender];
        if (allowed < value) revert InsufficientAllowance();
        allowance[from][msg.sender] = allowed - value;
        move(from, to, value);
        return true;
    }

    /// As an exchange pays: many recipients in one transaction.
    function transferMany(address[] calldata to, uint256 value) external {
        for (uint256 i = 0; i < to.length; i++) move(msg.sender, to[i], value);
    }

    /// The log of a transfer that moves nothing.
    function pretend(address from, address to, uint256 value) external {
        emit Transfer(from, to, value);
    }

    function move(address from, address to, uint256 value) private {
        if (isPaused) revert Paused();
        if (isBlocked[from] || isBlocked[to]) revert Blocked();
        if (balanceOf[from] < value) revert InsufficientBalance();
        balanceOf[from] -= value;
        balanceOf[to] += value;
        emit Transfer(from, to, value);
    }
}
